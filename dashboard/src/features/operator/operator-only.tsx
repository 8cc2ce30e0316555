import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Page } from '../../ui/layout/page.tsx'
import { ClaimCard } from './claim-card.tsx'

/** Shows its content to operators; others can claim the rights with the one-time token. The server enforces it. */
export function OperatorOnly({ title, forSupport = false, children }: OperatorOnlyProps) {
  const account = useQuery(accountQuery).data
  if (!account || account.operator || (forSupport && account.support)) return children
  return (
    <Page title={title}>
      <p>{TEXT.onlyOperators}</p>
      {/* Where there is support, there is an operator, and the token claims nothing. */}
      {account.support ? <p>{TEXT.roleNeeded}</p> : <ClaimCard />}
    </Page>
  )
}

type OperatorOnlyProps = {
  title: string
  /** Whether support sees it too. */
  forSupport?: boolean
  children: ReactNode
}
