import APITypes

/// Rows in aligned columns, for people.
struct Table: Equatable {
    /// One column. Numbers are aligned to the right. Extra columns are left out if the table is too wide, and the cells of
    /// one column may be shortened.
    struct Column: Equatable {
        var title: String
        var isNumber = false
        var isExtra = false
        var isShortened = false
    }

    /// How long cells usually are that may be shortened, and how short they may become.
    private static let (usualCell, leastCell) = (24, 12)

    var columns: [Column]
    var rows: [[String]] = []

    /// Two spaces separate columns. Lines have no trailing spaces. Empty cells are shown as `-`.
    var text: String { text(width: nil) }

    /// The same with lines of at most `width` characters, if shortened cells and fewer extra columns achieve it. The last
    /// extra column goes first.
    func text(width: Int?) -> String {
        var cells = [columns.map(\.title)] + rows.map { row in row.map { $0.isEmpty ? "-" : $0 } }
        var widths = columns.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        // One long cell shall not cost every row its extra columns.
        let usual = columns.indices.map { columns[$0].isShortened ? min(widths[$0], Self.usualCell) : widths[$0] }
        let shown = Self.fitting(columns, usual, into: width)
        if let width, let column = shown.first(where: { columns[$0].isShortened }) {
            let excess = max(0, Self.whole(shown, widths) - width)
            let room = max(widths[column] - excess, Self.leastCell)
            for row in cells.indices { cells[row][column] = cells[row][column].shortened(to: room) }
            widths[column] = min(widths[column], room)
        }
        return cells.map { row in
            let padded = shown.map { column in
                let blanks = String(repeating: " ", count: widths[column] - row[column].count)
                return columns[column].isNumber ? blanks + row[column] : row[column] + blanks
            }
            return String(padded.joined(separator: "  ").trimmingEnd())
        }
        .joined(separator: "\n")
    }

    /// The width of a line with these columns.
    private static func whole(_ shown: [Int], _ widths: [Int]) -> Int { shown.map { widths[$0] + 2 }.reduce(-2, +) }

    private static func fitting(_ columns: [Column], _ widths: [Int], into room: Int?) -> [Int] {
        var shown = Array(columns.indices)
        guard let room else { return shown }
        while whole(shown, widths) > room,
            let extra = shown.lastIndex(where: { columns[$0].isExtra })
        {
            shown.remove(at: extra)
        }
        return shown
    }
}

/// Names and values on separate lines, for one resource.
struct FactList: Equatable {
    var fields: [(name: String, value: String)]

    init(_ fields: [(String, String?)]) {
        self.fields = fields.compactMap { name, value in value.map { (name, $0) } }
    }

    /// A value of several lines is indented as a block.
    var text: String {
        let width = fields.map(\.name.count).max() ?? 0
        return fields.map { name, value in
            let blanks = String(repeating: " ", count: width - name.count + 2)
            let indented = value.split(separator: "\n", omittingEmptySubsequences: false)
                .joined(separator: "\n" + String(repeating: " ", count: width + 2))
            return name + blanks + indented
        }
        .joined(separator: "\n")
    }

    static func == (left: FactList, right: FactList) -> Bool {
        left.fields.elementsEqual(right.fields) { $0 == $1 }
    }
}

extension Instant {
    /// The time in whole seconds, so that a column of times stays narrow.
    var inTable: String { Instant(unixSeconds: unixSeconds).description }
}

extension String {
    /// At most `count` characters; a mark says that more follow.
    fileprivate func shortened(to count: Int) -> String { self.count > count ? String(prefix(count - 1)) + "…" : self }

    fileprivate func trimmingEnd() -> Substring {
        guard let last = lastIndex(where: { $0 != " " }) else { return "" }
        return self[...last]
    }
}
