package import Channels
import DeliveryStore
import Intake
package import Orchestrator
package import Record
package import Registry
package import Webhooks

extension Orchestrator: TallyService {}
extension Registry: RegistryService {}
extension Channels: ChannelService {}
extension DeliveryStore: HaltService {}
extension Intake: IntakeService {}
extension Record: RecordService {}
extension Webhooks: WebhookService {}
