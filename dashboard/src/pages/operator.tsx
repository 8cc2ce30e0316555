import { AccountsCard } from '../features/operator/accounts-card.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { PendingRequestsCard } from '../features/operator/pending-requests-card.tsx'
import { PricesCard } from '../features/operator/prices-card.tsx'
import { UpstreamsCard } from '../features/operator/upstreams-card.tsx'
import { OPERATOR_TEXT } from '../messages/operator.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'

/** For operators only; the server enforces it. */
export function Operator() {
  return (
    <OperatorOnly title={SHELL_TEXT.pagesOf.operator}>
      <Page title={SHELL_TEXT.pagesOf.operator} lead={OPERATOR_TEXT.lead}>
        <PendingRequestsCard />
        <AccountsCard />
        <UpstreamsCard />
        <PricesCard />
      </Page>
    </OperatorOnly>
  )
}
