// Tests of ReportingTests.
