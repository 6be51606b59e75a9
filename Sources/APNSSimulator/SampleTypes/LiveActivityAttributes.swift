/// What ActivityKit asks of an attributes struct, so that a sample type can be written as an app writes it.
package protocol LiveActivityAttributes: Codable, Hashable, Sendable {
    /// The part that changes while the activity lives.
    associatedtype ContentState: Codable, Hashable, Sendable
}
