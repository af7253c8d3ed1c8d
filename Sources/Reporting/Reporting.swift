// The room Reporting.
