internal import CTestShims

extension TemporaryTree {
    /// An extended attribute; `false` where the filesystem knows none such.
    package func setAttribute(_ relative: String, _ name: String, _ value: [UInt8]) -> Bool {
        tr_test_set_attribute(path(relative), name, value, value.count) == 0
    }

    /// `nil` where there is none.
    package func attribute(_ relative: String, _ name: String) -> [UInt8]? {
        var value = [UInt8](repeating: 0, count: 4096)
        let size = tr_test_attribute(path(relative), name, &value, value.count)
        return size < 0 ? nil : Array(value[..<Int(size)])
    }
}
