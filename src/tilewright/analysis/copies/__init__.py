"""How tiles are copied: by which instruction, and in which boxes."""
