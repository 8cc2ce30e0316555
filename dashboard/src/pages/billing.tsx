import { BalanceFigures } from '../features/billing/balance-figures.tsx'
import { BudgetsCard } from '../features/billing/budgets-card.tsx'
import { LedgerCard } from '../features/billing/ledger-card.tsx'
import { PaymentsCard } from '../features/billing/payments-card.tsx'
import { TopUpButton } from '../features/billing/top-up-dialog.tsx'
import { TopUpsCard } from '../features/billing/top-ups-card.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'

export function Billing() {
  return (
    <Page title={SHELL_TEXT.pagesOf.billing} actions={<TopUpButton />}>
      <BalanceFigures />
      <BudgetsCard />
      <TopUpsCard />
      <LedgerCard />
      <PaymentsCard />
    </Page>
  )
}
