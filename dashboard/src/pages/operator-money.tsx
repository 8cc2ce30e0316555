import { useState } from 'react'
import { BooksView } from '../features/operator/money/books-view.tsx'
import { CompareView } from '../features/operator/money/compare-view.tsx'
import { RevenueView } from '../features/operator/money/revenue-view.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { MONEY_TEXT as TEXT } from '../messages/money.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'
import { Tabs } from '../ui/layout/tabs.tsx'

const TABS = [
  { value: 'revenue', text: TEXT.revenue },
  { value: 'books', text: TEXT.books },
  { value: 'compare', text: TEXT.compare },
] as const

/** `/operator/money`: revenue, books, and whether they agree with the outside. */
export function OperatorMoney() {
  const [tab, setTab] = useState<(typeof TABS)[number]['value']>('revenue')
  const title = SHELL_TEXT.pagesOf.operatorMoney
  return (
    <OperatorOnly title={title}>
      <Page title={title} lead={TEXT.lead}>
        <Tabs label={TEXT.tabs} tabs={TABS} chosen={tab} onChoose={setTab}>
          <div className="grid gap-6 pt-1">
            {tab === 'revenue' && <RevenueView />}
            {tab === 'books' && <BooksView />}
            {tab === 'compare' && <CompareView />}
          </div>
        </Tabs>
      </Page>
    </OperatorOnly>
  )
}
