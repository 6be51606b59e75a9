/// Offers a form again whose session had expired: which page it is of, and what was filled in.
struct KeptFormPage {
    let target: Address
    let kept: [String]
    let token: FormToken

    var html: HTML {
        let form = FormFields(kept.joined(separator: "&"))
        let parts = target.text.split(separator: "?", maxSplits: 1)
        let path = parts.first.map(String.init) ?? ""
        let query = FormFields(parts.count > 1 ? parts[1] : "")
        let subject = query.exact("id") ?? query.exact("name")
        let (button, hint) = Self.button(path, form)
        let filled = Self.filled(form)
        return Layout.document(
            title: "Send the form again",
            """
            <main id="main" class="sign-in"><h1>\(Drawing.mark)<span>Tally</span></h1>
            <p>You are signed in again. This is the form that you sent. Nothing was changed yet.</p>
            <h2>\(Self.title(path))\(subject.map { ": <bdi>\($0)</bdi>" as HTML })</h2>
            \(filled.isEmpty ? "" : "<dl>\(filled)</dl>" as HTML)
            <form method="post" action="\(target)">\(token.html)
            \(form.entries.html { "<input type=\"hidden\" name=\"\($0.name)\" value=\"\($0.value)\">" })
            <button class="main">\(button)</button> <a href="\(target)">Discard it</a>
            <p class="hint">\(hint)</p>
            </form></main>
            """
        )
    }

    private static func title(_ path: String) -> String {
        switch path {
        case "/console/activity/change": "Post a change"
        case "/console/activity/audience": "Audience"
        case "/console/activity/end": "End the activity"
        case "/console/type/policy": "Policy"
        default: Layout.Place.of(path).rawValue
        }
    }

    /// What the button does, and what to know of that.
    private static func button(_ path: String, _ form: FormFields) -> (label: String, hint: String) {
        switch path {
        case "/console/activity/change", "/console/activity/end":
            if form.raw("request") == nil { return ("Try it", "A dry run: nothing is sent yet.") }
        case "/console/type/policy":
            if form["step"] != "apply" { return ("Preview", "Nothing is applied yet.") }
        default:
            break
        }
        return ("Send it", "")
    }

    /// The hidden fields of the forms.
    private static let ours: Set = ["revision", "tried", "key", "once", "step", "back", "was", "was_content_state"]

    /// The fields that a person filled in, with their values.
    private static func filled(_ form: FormFields) -> [HTML] {
        form.entries.filter { entry in
            !ours.contains(entry.name) && !entry.name.hasPrefix(ContentForm.openedPrefix) && !entry.value.isEmpty
                && !ContentForm.isUntouched(entry.name, form)
        }.map { entry -> HTML in
            "<div><dt>\(ContentForm.label(entry.name))</dt><dd>\(entry.value)</dd></div>"
        }
    }
}
