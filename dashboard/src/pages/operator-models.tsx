import { AccountPricesCard } from '../features/operator/models/account-prices-card.tsx'
import { ModelsCard } from '../features/operator/models/models-card.tsx'
import { VendorsCard } from '../features/operator/models/vendors-card.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { MODEL_TEXT as TEXT } from '../messages/models.ts'
import { Page } from '../ui/layout/page.tsx'

/** The vendors of models, and the models that operators sell. */
export function OperatorModels() {
  return (
    <OperatorOnly title={TEXT.title}>
      <Page title={TEXT.title} lead={TEXT.lead}>
        <VendorsCard />
        <ModelsCard />
        <AccountPricesCard />
      </Page>
    </OperatorOnly>
  )
}
