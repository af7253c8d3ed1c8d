/// Where the system's routes lead.
package protocol RouteFinder: AnyObject {
    /// The interface that packets to the address take, or whether they can take the one given; `nil` when no route leads
    /// there.
    func interface(to address: NetworkAddress, over: UInt32?) -> UInt32?
}
