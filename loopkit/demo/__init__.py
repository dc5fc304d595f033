"""The bundled demo agent."""
