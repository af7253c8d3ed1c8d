extension RequestBody {
    /// Every text that goes over the wire with it, or may: where secrets may be. What a command writes can hold the
    /// words it was given. Paths stay here.
    package var texts: [SecretText] {
        switch self {
        case .data(let text): [text]
        case .json(let template): template.texts
        case .form(let fields): fields.map(\.value)
        case .multipart(let parts): parts.flatMap(\.content.texts)
        case .stream(let command, _): command
        case .base64, .file: []
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
