"""Who answers: model providers."""
