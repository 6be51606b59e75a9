package import APITypes
import ActivityModel
import Cryptography
import JSON
import Postgres

/// The place of an item in a list: the list, and the values of the columns that order it.
///
/// Callers see opaque text. A page begins after that place, so items that are added or deleted meanwhile shift nothing.
package struct PageCursor: Sendable, Hashable {
    package let values: [String]

    package init(values: [String]) {
        self.values = values
    }

    /// The place after an item with these columns.
    package init(in list: PagedList, _ columns: [String]) {
        self.init(values: [list.mark] + columns)
    }

    /// The columns of an item of a list. If the cursor is of another list, the other list's mark is one of them, and no
    /// column can be read from it. A cursor of an earlier daemon has no mark.
    package func columns(in list: PagedList) -> ArraySlice<String> {
        values.first == list.mark ? values.dropFirst() : values[...]
    }

    /// Reads what ``text`` made; nil for anything else.
    package init?(_ text: String) {
        // Text that is not JSON is simply not a cursor; why it is not is of no interest to anyone.
        guard let bytes = Base64URL.decode(text), let items = (try? JSONValue.parse(bytes))?.array else { return nil }
        let values = items.compactMap(\.string)
        guard values.count == items.count else { return nil }
        self.values = values
    }

    /// The opaque text.
    package var text: String {
        Base64URL.encode(JSONValue.array(values.map { .string($0) }).serialized())
    }

    /// 422: the cursor was not given out for this list.
    package static let refused = Problem.invalidRequest("'cursor' is not one that this list gave out.")
}

extension PageRequest {
    /// The place after which a page of a list begins that is ordered by columns of these types; nil on the first
    /// page.
    ///
    /// - Throws: 422 when the cursor is not one of this list.
    package func position<each Column: CursorColumn>(
        in list: PagedList,
        _ columns: repeat (each Column).Type
    ) throws(Problem) -> (repeat each Column)? {
        guard let cursor else { return nil }
        guard let place = PageCursor(cursor) else { throw PageCursor.refused }
        var texts = place.columns(in: list)
        func next<Next: CursorColumn>(_: Next.Type) throws(Problem) -> Next {
            guard let text = texts.popFirst(), let value = Next(cursor: text) else { throw PageCursor.refused }
            return value
        }
        let position = (repeat try next(each columns))
        guard texts.isEmpty else { throw PageCursor.refused }
        return position
    }
}

/// What a list may be ordered by. A cursor is whatever a caller sends, so each column reads its own, and refuses what
/// the database would not take.
package protocol CursorColumn {
    /// Reads the text that a cursor has for the column; nil if it can be none of its values.
    init?(cursor text: String)
}

extension CursorColumn where Self: LosslessStringConvertible {
    package init?(cursor text: String) { self.init(text) }
}

extension Int64: CursorColumn {}
extension Int32: CursorColumn {}
extension Int16: CursorColumn {}

extension PGTimestamp: CursorColumn {
    /// Microseconds since 1970, within the years that a time of the API may have.
    init?(cursor text: String) {
        guard let microseconds = Int64(text), Instant.bounds.contains(microseconds) else { return nil }
        self.init(microseconds: microseconds)
    }
}

extension CursorColumn where Self: TextIdentifier {
    init?(cursor text: String) { self.init(text) }
}

extension APNSEnvironment: CursorColumn {
    init?(cursor text: String) { self.init(rawValue: text) }
}

extension BundleID: CursorColumn {}
extension ActivityTypeName: CursorColumn {}
extension ChannelID: CursorColumn {}
extension Topic: CursorColumn {}
extension WebhookID: CursorColumn {}

extension Page {
    /// The first `limit` of `found` in a list, which holds one more where the list goes on; `place` gives an item's columns.
    package static func cut(
        _ found: [Item],
        of list: PagedList,
        limit: Int,
        place: (Item) -> [String]
    ) -> Page<Item> {
        cut(found, of: list, limit: limit, item: { $0 }, place: place)
    }

    /// The same of rows that know more than the `item` that is shown of them.
    package static func cut<Row>(
        _ found: [Row],
        of list: PagedList,
        limit: Int,
        item: (Row) -> Item,
        place: (Row) -> [String]
    ) -> Page<Item> {
        let isLast = found.count <= limit || limit <= 0
        let shown = isLast ? found[...] : found.prefix(limit)
        let next = isLast ? nil : shown.last.map { PageCursor(in: list, place($0)).text }
        return Page(items: shown.map(item), nextCursor: next)
    }
}
