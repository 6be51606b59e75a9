/// A content state that says its revision. TallyKit then reports which revision a card shows, for the share of cards that Tally
/// asks for.
///
/// Tally counts the changes of an activity, and writes the number into the property that the policy names as
/// `revision_property`. Declare it as an `Int?` if cards may still have content from before the policy named it.
public protocol TallyContent {
    /// The property that the policy names. Nil, or less than 1: TallyKit reports nothing of this content.
    var tallyRevision: Int? { get }
}
