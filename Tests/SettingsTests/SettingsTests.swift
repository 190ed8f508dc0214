// Tests of settings.
