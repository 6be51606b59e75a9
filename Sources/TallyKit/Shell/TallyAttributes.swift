#if canImport(ActivityKit)
public import ActivityKit

/// The attributes of a card that Tally serves.
public protocol TallyAttributes: ActivityAttributes, Sendable where ContentState: Sendable {
    /// The id of the activity in Tally, such as the id of the match or the order. Tally fills the attribute that the policy
    /// names as `id_attribute`.
    var tallyID: String { get }

    /// The name under which the type is registered with Tally. It is the name of the struct, because iOS finds the struct by that
    /// name when a push starts a card. Implement it only if no card of the type is started by push.
    static var tallyType: String { get }
}

extension TallyAttributes {
    /// The name of the struct.
    public static var tallyType: String { String(describing: Self.self) }
}
#endif
