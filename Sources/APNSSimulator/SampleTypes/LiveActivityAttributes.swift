/// ActivityKit's requirements for an attributes struct, so that a sample type looks like one in an app.
package protocol LiveActivityAttributes: Codable, Hashable, Sendable {
    /// The part that changes during the activity.
    associatedtype ContentState: Codable, Hashable, Sendable
}
