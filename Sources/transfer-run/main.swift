import CommandLineTool
import Glibc
import SystemIO

// Before anything is opened.
StandardDescriptors.occupy()
Signals.ignoreFailedWrites()
let words = CurrentProcess.arguments()
let status = CommandLineTool.main(words: words, environment: CurrentProcess.environment())
// At once: all threads were joined and all that was written is out. What libraries tidy up at an exit takes longer than a
// short run's requests.
_exit(status)
