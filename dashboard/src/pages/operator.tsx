import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../api/account.ts'
import { AccountsCard } from '../features/operator/accounts-card.tsx'
import { ClaimCard } from '../features/operator/claim-card.tsx'
import { PricesCard } from '../features/operator/prices-card.tsx'
import { UpstreamsCard } from '../features/operator/upstreams-card.tsx'
import { WaitingCard } from '../features/operator/waiting-card.tsx'
import { Page } from '../ui/page.tsx'
import { OPERATOR_WORDS } from '../words/operator.ts'
import { SHELL_WORDS } from '../words/shell.ts'

/** For operators; the server refuses everybody else. */
export function Operator() {
  const account = useQuery(accountQuery).data
  if (account && !account.operator)
    return (
      <Page title={SHELL_WORDS.pagesOf.operator}>
        <p>{OPERATOR_WORDS.onlyOperators}</p>
        <ClaimCard />
      </Page>
    )
  return (
    <Page title={SHELL_WORDS.pagesOf.operator} lead={OPERATOR_WORDS.lead}>
      <WaitingCard />
      <AccountsCard />
      <UpstreamsCard />
      <PricesCard />
    </Page>
  )
}
