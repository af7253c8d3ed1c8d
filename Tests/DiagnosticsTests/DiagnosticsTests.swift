// Tests of DiagnosticsTests.
