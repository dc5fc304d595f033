"""MCP servers as tools: their programs, or their addresses, with their tools ready for an agent (`loopkit[mcp]`)."""

from loopkit.tools.mcp.server import MCPServer as MCPServer
from loopkit.tools.mcp.server import MCPTool as MCPTool
