// Tests of TransferModelTests.
