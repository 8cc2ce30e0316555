import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../api/account/account.ts'
import { AccountsCard } from '../features/operator/accounts-card.tsx'
import { ClaimCard } from '../features/operator/claim-card.tsx'
import { PendingRequestsCard } from '../features/operator/pending-requests-card.tsx'
import { PricesCard } from '../features/operator/prices-card.tsx'
import { UpstreamsCard } from '../features/operator/upstreams-card.tsx'
import { OPERATOR_TEXT } from '../messages/operator.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'

/** For operators only; the server enforces it. */
export function Operator() {
  const account = useQuery(accountQuery).data
  if (account && !account.operator)
    return (
      <Page title={SHELL_TEXT.pagesOf.operator}>
        <p>{OPERATOR_TEXT.onlyOperators}</p>
        <ClaimCard />
      </Page>
    )
  return (
    <Page title={SHELL_TEXT.pagesOf.operator} lead={OPERATOR_TEXT.lead}>
      <PendingRequestsCard />
      <AccountsCard />
      <UpstreamsCard />
      <PricesCard />
    </Page>
  )
}
