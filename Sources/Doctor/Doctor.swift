import APITypes
package import APNSTransport
package import ReportTypes
package import ServiceLifecycle
package import Store

/// The room of the doctor: looks at everything that sending depends on.
///
/// - **What it does.** It answers `tally doctor` with checks and advice (``Examination``), and tells the metrics system how the
///   work stands (``WorkGauges``).
/// - **Who calls it.** The HTTP API, by way of the hub.
/// - **Tables that it alone writes.** None. It only reads.
package struct Doctor: Sendable {
    let store: Store
    let hosts: any APNSHosts

    /// - Parameters:
    ///   - store: What is looked at.
    ///   - hosts: Apple's hosts.
    package init(store: Store, hosts: any APNSHosts) {
        self.store = store
        self.hosts = hosts
    }

    /// Looks, and says what is wrong and what to do about it. Repairs nothing.
    ///
    /// Never throws: a database that is away is a finding. Over within half a minute, or a minute if it tries channels.
    ///
    /// - Parameters:
    ///   - request: Which app and environment are looked at, and whether channels are tried.
    ///   - installation: Whether what concerns the installation as a whole is told, and not one app alone.
    ///   - channels: Makes the channels that are tried.
    /// - Returns: A check for each finding, good or bad.
    package func examine(
        _ request: DoctorRequest,
        installation: Bool,
        channels: any ChannelMaker
    ) async -> DoctorReport {
        let examination = Examination(
            doctor: self,
            channels: channels,
            request: request,
            installation: installation
        )
        return DoctorReport(checkedAt: .wallClock(), checks: await examination.checks())
    }

    /// Tells the metrics system how the work stands, until the daemon stops.
    package var gauges: any Service { WorkGauges(store: store) }
}
