/** What can be told of something that was refused: a stable code, the field at fault, and what to do. */
export interface RefusalFacts { code: string; field?: string | undefined; cure?: string | undefined }

/** The command was understood and refused, or found a fault: exit code 1. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly facts: RefusalFacts;
  constructor(message: string, facts: RefusalFacts) {
    super(message);
    this.facts = facts;
  }
}

/** The command was not understood: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly field: string | undefined;
  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}
