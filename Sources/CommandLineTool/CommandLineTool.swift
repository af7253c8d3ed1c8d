// The room CommandLineTool.
