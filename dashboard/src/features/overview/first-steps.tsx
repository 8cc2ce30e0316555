import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { keysQuery } from '../../api/keys.ts'
import { newestRequestsQuery } from '../../api/requests.ts'
import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { Badge } from '../../ui/badge.tsx'
import { getLocalItem, setLocalItem } from '../../ui/browser/local-storage.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/layout/card.tsx'

const STORAGE_KEY = 'first-steps-hidden'

/** The first steps of a new owner, until they are done or hidden. */
export function FirstSteps() {
  const [hidden, setHidden] = useState(() => getLocalItem(STORAGE_KEY) !== null)
  const requests = useQuery(newestRequestsQuery(10)).data
  const keys = useInfiniteQuery(keysQuery({ sort: 'last_used' })).data?.pages[0]?.keys
  if (hidden || !requests || !keys) return null
  const called = requests.length > 0
  const limited = keys.some(({ spending_limit: limit }) => limit !== null)
  if (called && limited) return null
  const hide = () => {
    setHidden(true)
    setLocalItem(STORAGE_KEY, '1')
  }
  return (
    <Card
      title={TEXT.steps}
      aside={
        <Button tone="quiet" onClick={hide}>
          {TEXT.hide}
        </Button>
      }
    >
      <ol className="grid gap-3">
        <Step text={TEXT.stepRequest} done={called} to="/keys" act={TEXT.stepAct.request} />
        <Step text={TEXT.stepLimit} done={limited} to="/keys" act={TEXT.stepAct.limit} />
      </ol>
    </Card>
  )
}

function Step({ text, done, to, act }: { text: string; done: boolean; to: '/keys'; act: string }) {
  return (
    <li className="flex items-center gap-3">
      <Badge tone={done ? 'ok' : 'neutral'}>{done ? TEXT.stepDone : TEXT.stepOpen}</Badge>
      <span className={done ? 'text-muted' : ''}>{text}</span>
      {!done && (
        <Link to={to} className="text-accent underline">
          {act}
        </Link>
      )}
    </li>
  )
}
