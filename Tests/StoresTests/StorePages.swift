import Stores
import TestSupport

/// The bytes of a store in which nothing is kept: its schema, and the first page of each table. What damages a store only
/// behind them leaves it one that can be opened.
func emptyStoreSize() throws -> Int {
    let tree = try TemporaryTree()
    _ = try Store.open(folder: tree.path)
    return try tree.bytes("store.sqlite").count
}
