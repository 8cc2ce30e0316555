import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../api/account/account.ts'
import { AccountsCard } from '../features/operator/accounts-card.tsx'
import { HealthCard } from '../features/operator/health-card.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { PendingRequestsCard } from '../features/operator/pending-requests-card.tsx'
import { PricesCard } from '../features/operator/prices-card.tsx'
import { StuckCard } from '../features/operator/stuck-card.tsx'
import { UpstreamsCard } from '../features/operator/upstreams-card.tsx'
import { WorkersCard } from '../features/operator/workers-card.tsx'
import { OPERATOR_TEXT } from '../messages/operator.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'

/** For operators; support sees the accounts. The server enforces it. */
export function Operator() {
  const isOperator = useQuery(accountQuery).data?.operator ?? false
  return (
    <OperatorOnly title={SHELL_TEXT.pagesOf.operator} forSupport>
      <Page title={SHELL_TEXT.pagesOf.operator} lead={OPERATOR_TEXT.lead}>
        {isOperator && <HealthCard />}
        {isOperator && <StuckCard />}
        {isOperator && <PendingRequestsCard />}
        <AccountsCard isOperator={isOperator} />
        {isOperator && <UpstreamsCard />}
        {isOperator && <WorkersCard />}
        {isOperator && <PricesCard />}
      </Page>
    </OperatorOnly>
  )
}
