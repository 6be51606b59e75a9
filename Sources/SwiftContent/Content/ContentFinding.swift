package import JSON

/// A problem in content: the phone cannot decode it, or would decode another value than the caller meant.
package struct ContentFinding: Sendable, Hashable {
    /// The location in the content.
    package let instance: JSONPointer
    /// The Swift type that the schema declares. Otherwise the type that nearly all apps declare.
    package let swiftType: String
    /// The schema keyword behind the finding: `x-swift-type`, or `type` if there is no other.
    package let keyword: String
    /// The message for the author of the content. It can quote the value.
    package let message: String
}
