import { useState } from 'react'
import { approve, decline, type PendingLimitRequest, type RateLimits } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Choice, Choices, Field } from '../../ui/field.tsx'
import { ActionForm, fieldText, useOperatorAction } from './action-form.tsx'
import { RateLimitFields, readRateLimits } from './rate-limit-fields.tsx'

type DialogProps = { request: PendingLimitRequest; onClose: () => void }

/** The dialogs to approve or decline a request. */
export function DecisionDialog({ how, ...rest }: DialogProps & { how: 'approve' | 'decline' }) {
  return how === 'approve' ? <ApproveDialog {...rest} /> : <DeclineDialog {...rest} />
}

function ApproveDialog({ request, onClose }: DialogProps) {
  const [custom, setCustom] = useState(false)
  const action = useOperatorAction(
    (body: { reason?: string; limits?: RateLimits }) => approve(request.id, body),
    TEXT.approved,
    onClose,
  )
  return (
    <ActionForm
      title={TEXT.approve}
      action={action}
      onClose={onClose}
      read={(form) => {
        const reason = fieldText(form, 'reason')
        const optionalReason = reason === '' ? {} : { reason }
        if (!custom) return { values: optionalReason }
        const values = readRateLimits(form)
        return 'wrong' in values ? values : { values: { ...optionalReason, limits: values.values } }
      }}
    >
      {(errors) => (
        <>
          <RequestSummary request={request} />
          <Choices legend={TEXT.approveText}>
            <Choice
              name="how"
              value="growth"
              checked={!custom}
              onChange={() => setCustom(false)}
              label={TEXT.toGrowth}
            />
            <Choice
              name="how"
              value="custom"
              checked={custom}
              onChange={() => setCustom(true)}
              label={TEXT.ownLimits}
            />
          </Choices>
          {custom && (
            <RateLimitFields
              errors={errors}
              values={{ rpm: request.peak_rpm, tpm: request.peak_tpm, concurrency: 50 }}
            />
          )}
          <Field label={TEXT.reasonOptional} hint={TEXT.reasonHint}>
            {(control) => <input {...control} name="reason" maxLength={1000} />}
          </Field>
        </>
      )}
    </ActionForm>
  )
}

function DeclineDialog({ request, onClose }: DialogProps) {
  const action = useOperatorAction((reason: string) => decline(request.id, reason), TEXT.declined, onClose)
  return (
    <ActionForm
      title={TEXT.decline}
      action={action}
      onClose={onClose}
      read={(form) => {
        const reason = fieldText(form, 'reason')
        return reason === '' ? { wrong: { reason: TEXT.reasonNeeded } } : { values: reason }
      }}
    >
      {(errors) => (
        <>
          <RequestSummary request={request} />
          <Field label={TEXT.reason} hint={TEXT.reasonHint} error={errors['reason']}>
            {({ className, ...control }) => (
              <textarea {...control} className={`${className} h-auto py-2`} name="reason" rows={3} maxLength={1000} />
            )}
          </Field>
        </>
      )}
    </ActionForm>
  )
}

function RequestSummary({ request }: { request: PendingLimitRequest }) {
  return (
    <div className="grid gap-1 rounded-md bg-sunken px-3 py-2">
      <p className="font-medium wrap-anywhere">{request.email ?? request.workspace_id}</p>
      <p className="wrap-anywhere">{request.use_case}</p>
      <p className="small text-muted wrap-anywhere">{request.endpoints.join(', ')}</p>
    </div>
  )
}
