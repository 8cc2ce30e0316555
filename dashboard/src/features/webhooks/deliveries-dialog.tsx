import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { toApiFailure } from '../../api/client/failure.ts'
import { listState } from '../../api/client/list-state.ts'
import { deliveriesQuery, resendDelivery, type Webhook, type WebhookDelivery } from '../../api/webhooks.ts'
import { WEBHOOK_TEXT as TEXT } from '../../messages/webhooks.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const TONES: Record<WebhookDelivery['status'], Tone> = { pending: 'neutral', delivered: 'ok', failed: 'bad' }

/** The newest deliveries of an endpoint, each with its last answer and a button to send it again. */
export function DeliveriesDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const deliveries = useQuery(deliveriesQuery(webhook.id))
  const queries = useQueryClient()
  const resending = useMutation({
    mutationFn: (delivery: string) => resendDelivery(webhook.id, delivery),
    onSuccess: () => void toast(TEXT.resent),
    onError: (error: unknown) => void toast(toApiFailure(error).message, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['webhooks', webhook.id] }),
  })
  const resend = (delivery: WebhookDelivery) =>
    delivery.status !== 'pending' &&
    delivery.type !== 'webhook.confirm' && (
      <Button
        aria-label={`${TEXT.resend}: ${delivery.type}`}
        busy={resending.isPending && resending.variables === delivery.id}
        onClick={() => resending.mutate(delivery.id)}
      >
        {TEXT.resend}
      </Button>
    )
  const { logColumns: heads } = TEXT
  const columns: readonly Column<WebhookDelivery>[] = [
    {
      id: 'type',
      head: heads.type,
      name: true,
      cell: ({ type }) => <span className="code wrap-anywhere">{type}</span>,
    },
    { id: 'status', card: 'aside', head: heads.status, cell: (delivery) => <Status delivery={delivery} /> },
    { id: 'attempts', head: heads.attempts, numeric: true, cell: ({ attempts }) => attempts },
    { id: 'answer', head: heads.answer, cell: answerOf },
    { id: 'at', head: heads.at, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
    { id: 'act', card: 'below', head: heads.act, silent: true, numeric: true, cell: resend },
  ]
  return (
    <Dialog title={TEXT.logTitle} onClose={onClose} wide>
      <p className="code wrap-anywhere">{webhook.url}</p>
      <Table
        caption={TEXT.logTable}
        columns={columns}
        state={{ rows: deliveries.data?.deliveries, ...listState(deliveries) }}
        rowKey={({ id }) => id}
        empty={<Empty>{TEXT.logNone}</Empty>}
      />
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.close}</Button>
      </DialogButtons>
    </Dialog>
  )
}

function Status({ delivery: { status } }: { delivery: WebhookDelivery }) {
  return <Badge tone={TONES[status]}>{TEXT.statuses[status]}</Badge>
}

function answerOf({ response_status: status, error }: WebhookDelivery): string {
  return error ?? (status === null ? '-' : String(status))
}
