import type { ApiKey } from '../../../api/keys.ts'
import type { KeyErrors, KeyFormValues } from './key-form-values.ts'

/** The props of every part of a key's form. */
export interface KeyFieldsProps {
  values: KeyFormValues
  errors: KeyErrors
  apiKey: ApiKey | null
  /** The IP address of this computer. */
  ip: string | null
  focus?: 'limit' | 'expires' | undefined
  onChange: (part: Partial<KeyFormValues>) => void
  onFieldBlur: (field: keyof KeyFormValues) => void
}
