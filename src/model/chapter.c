/* The chapter in one page: see docs/architecture.md. */
typedef int moeg_model_chapter;
