internal import CLibYAML

extension YAMLTree {
    /// Of the libyaml that runs, `0.2.5`.
    package static var libraryVersion: String { unsafe String(cString: yaml_get_version_string()) }
}
