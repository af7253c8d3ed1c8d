// The room TestSupport.
