import { useState } from 'react'
import { RevenueView } from '../features/operator/money/revenue-view.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { MONEY_TEXT as TEXT } from '../messages/money.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { Page } from '../ui/layout/page.tsx'
import { Tabs } from '../ui/layout/tabs.tsx'

// Below the first figures, or on a tab of its own.
const BooksView = lazyPart(
  () => import('../features/operator/money/books-view.tsx').then(({ BooksView }) => BooksView),
  {
    fallback: () => <Loading rows={6} />,
  },
)
const CompareView = lazyPart(
  () => import('../features/operator/money/compare-view.tsx').then(({ CompareView }) => CompareView),
  {
    fallback: () => <Loading rows={6} />,
  },
)

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
