"""Diagnostic codes (TWnnnn): what each one means, and the constants that several packages use."""
