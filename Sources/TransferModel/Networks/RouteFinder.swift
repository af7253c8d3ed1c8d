/// Looks up routes in the system's routing tables.
package protocol RouteFinder: AnyObject {
    /// Returns the interface that packets to the address take or, with `over`, that one if it leads there; `nil` when
    /// no route does.
    func interface(to address: NetworkAddress, over: UInt32?) -> UInt32?
}
