import { BalanceFigures } from '../features/billing/balance-figures.tsx'
import { LedgerCard } from '../features/billing/ledger-card.tsx'
import { PaymentsCard } from '../features/billing/payments-card.tsx'
import { TopUpButton } from '../features/billing/top-up-dialog.tsx'
import { TopUpsCard } from '../features/billing/top-ups-card.tsx'
import { Page } from '../ui/page.tsx'
import { SHELL_WORDS } from '../words/shell.ts'

export function Billing() {
  return (
    <Page title={SHELL_WORDS.pagesOf.billing} actions={<TopUpButton />}>
      <BalanceFigures />
      <TopUpsCard />
      <LedgerCard />
      <PaymentsCard />
    </Page>
  )
}
