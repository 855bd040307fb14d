"""Parts of warp specialisation: what may go to a producer, and how the roles are built."""
