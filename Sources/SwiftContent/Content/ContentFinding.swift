package import JSON

/// Something in content that the phone could not decode, or would decode as something else than meant.
package struct ContentFinding: Sendable, Hashable {
    /// The place in the content.
    package let instance: JSONPointer
    /// The Swift type that it is declared as, or is taken for where none is named.
    package let swiftType: String
    /// The keyword of the schema that says so: `x-swift-type`, or `type` where that alone is there.
    package let keyword: String
    /// What is wrong, for the author of the content. It can quote the value.
    package let message: String
}
