import type { ComponentProps, ReactNode } from 'react'
import { REQUEST_TEXT } from '../../messages/requests.ts'
import { Empty } from '../feedback/states.tsx'
import { Card } from '../layout/card.tsx'
import { RequestLog } from './request-log.tsx'

/** The most recent requests in short form, with a link to all. */
export function NewestRequests({ title, all, ...log }: NewestRequestsProps) {
  return (
    <Card title={title} flush aside={all}>
      <RequestLog {...log} short empty={<Empty>{REQUEST_TEXT.none}</Empty>} />
    </Card>
  )
}

type NewestRequestsProps = {
  title: string
  /** The link to all requests. */
  all: ReactNode
} & Pick<ComponentProps<typeof RequestLog>, 'caption' | 'keyLabel' | 'state'>
