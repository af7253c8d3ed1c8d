package import Diagnostics
package import TransferModel

/// A lock or a saved plan as it was read: a run that another process carries is held to it, whatever becomes of the
/// file.
package struct HeldFile: Hashable, Sendable {
    /// Which of them it is.
    package var kind: HeldAnswers.Kind
    /// Its name, as the user wrote it.
    package var name: String
    /// Its text.
    package var bytes: [UInt8]

    package init(_ kind: HeldAnswers.Kind, name: String, bytes: [UInt8]) {
        (self.kind, self.name, self.bytes) = (kind, name, bytes)
    }

    /// Reads the text. The file is `nil` if it has errors.
    package func read() -> (file: LockFile?, diagnostics: DiagnosticList) {
        let (file, diagnostics) = LockFileReader.read(SourceText(name: name, bytes: bytes), wanting: kind)
        return (diagnostics.hasErrors ? nil : file, diagnostics)
    }
}
