package import JSON

/// Something that is valid and will yet surprise somebody. docs/schemas.md lists the codes.
package struct LintFinding: Sendable, Hashable {
    /// Stable words for programs.
    package enum Code: String, Sendable, CaseIterable {
        /// Every property of a type is required.
        case noOptionals = "no_optionals"
        /// A list of values that a later version of the app may want to add to.
        case closedEnum = "closed_enum"
        case unboundedString = "unbounded_string"
        case unboundedArray = "unbounded_array"
        case unboundedObject = "unbounded_object"
        /// What the two schemas let in may not fit.
        case tooLarge = "too_large"
        /// A number that may have a fraction where the name reads as a count.
        case floatForCount = "float_for_count"
        /// Whole numbers beyond 2^53.
        case inexactInteger = "inexact_integer"
        /// A null that cannot be avoided by leaving the key away.
        case unavoidableNull = "unavoidable_null"
        case snakeCase = "snake_case"
        case mixedCase = "mixed_case"
        /// What reads as a date and does not say how the phone decodes it.
        case dateWithoutType = "date_without_type"
        /// Nothing is said about a value.
        case unchecked
        /// In content: a null.
        case nullValue = "null_value"
        /// In content: a key that the schema does not declare, so that the phone ignores it.
        case undeclaredKey = "undeclared_key"
    }

    package let code: Code
    /// Into the schema; for content, into the content.
    package let pointer: JSONPointer
    /// What is doubtful, and what to do.
    package let message: String
}
