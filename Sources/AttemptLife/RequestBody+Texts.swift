package import TransferModel

extension RequestBody {
    /// Every text that goes over the wire with it: where secrets may be. Paths and commands stay here.
    package var texts: [SecretText] {
        switch self {
        case .data(let text): [text]
        case .json(let template): template.texts
        case .form(let fields): fields.map(\.value)
        case .multipart(let parts): parts.flatMap(\.content.texts)
        case .base64, .file, .stream: []
        }
    }
}

extension RequestBody.Part.Content {
    fileprivate var texts: [SecretText] {
        switch self {
        case .data(let text): [text]
        case .json(let template): template.texts
        case .file: []
        }
    }
}

extension JSONTemplate {
    fileprivate var texts: [SecretText] {
        switch self {
        case .null, .boolean, .number: []
        case .string(let text): [text]
        case .list(let items): items.flatMap(\.texts)
        case .object(let members): members.flatMap(\.value.texts)
        }
    }
}
