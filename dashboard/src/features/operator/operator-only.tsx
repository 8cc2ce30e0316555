import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Page } from '../../ui/layout/page.tsx'
import { ClaimCard } from './claim-card.tsx'

/** Shows its content to operators; others can claim the rights with the one-time token. The server enforces it. */
export function OperatorOnly({ title, children }: { title: string; children: ReactNode }) {
  const account = useQuery(accountQuery).data
  if (!account || account.operator) return children
  return (
    <Page title={title}>
      <p>{TEXT.onlyOperators}</p>
      <ClaimCard />
    </Page>
  )
}
