internal import CLibYAML

extension YAMLTree {
    /// Version of the loaded libyaml, `0.2.5`.
    package static var libraryVersion: String { unsafe String(cString: yaml_get_version_string()) }
}
