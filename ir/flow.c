/* Loops and branches of ir/builder.h. */
#include <string.h>

#include "ir/llvm.h"

static LLVMBasicBlockRef block(struct ws_builder *b, const char *name)
{
    return LLVMAppendBasicBlockInContext(b->context, b->function, name);
}

static LLVMValueRef phi(struct ws_builder *b, LLVMTypeRef type)
{
    return LLVMBuildPhi(b->llvm, type, "");
}

static void add_incoming(LLVMValueRef phi_value, LLVMValueRef value, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi_value, &value, &from, 1);
}

struct ws_value *ws_loop_begin(struct ws_builder *b, struct ws_loop *loop, struct ws_value *begin,
                               struct ws_value *end, uint32_t step,
                               struct ws_value **const *carried, int count)
{
    *loop = (struct ws_loop){
        .begin = ws_llvm(begin), .end = ws_llvm(end), .step = step, .count = count};
    loop->before = LLVMGetInsertBlock(b->llvm);
    loop->body = block(b, "loop");
    loop->after = block(b, "after");
    LLVMValueRef any = LLVMBuildICmp(b->llvm, LLVMIntSLT, loop->begin, loop->end, "");
    LLVMBuildCondBr(b->llvm, any, loop->body, loop->after);

    LLVMPositionBuilderAtEnd(b->llvm, loop->body);
    loop->index = phi(b, b->i32);
    add_incoming(loop->index, loop->begin, loop->before);
    for (int i = 0; i < count; i++) {
        loop->carried[i] = carried[i];
        loop->initial[i] = ws_llvm(*carried[i]);
        loop->phi[i] = phi(b, LLVMTypeOf(loop->initial[i]));
        add_incoming(loop->phi[i], loop->initial[i], loop->before);
        *carried[i] = ws_wrap(loop->phi[i]);
    }
    return ws_wrap(loop->index);
}

void ws_loop_end(struct ws_builder *b, struct ws_loop *loop)
{
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b->llvm);
    LLVMValueRef next =
        LLVMBuildNSWAdd(b->llvm, loop->index, LLVMConstInt(b->i32, loop->step, false), "");
    LLVMValueRef again = LLVMBuildICmp(b->llvm, LLVMIntSLT, next, loop->end, "");
    LLVMBuildCondBr(b->llvm, again, loop->body, loop->after);
    add_incoming(loop->index, next, latch);

    LLVMPositionBuilderAtEnd(b->llvm, loop->after);
    for (int i = 0; i < loop->count; i++) {
        LLVMValueRef last = ws_llvm(*loop->carried[i]);
        LLVMValueRef merged = phi(b, LLVMTypeOf(last));
        add_incoming(loop->phi[i], last, latch);
        add_incoming(merged, loop->initial[i], loop->before);
        add_incoming(merged, last, latch);
        *loop->carried[i] = ws_wrap(merged);
    }
}

/* Tells block placement that the branch is hardly ever taken. */
static void set_rare(struct ws_builder *b, LLVMValueRef branch)
{
    static const char kind[] = "prof", label[] = "branch_weights";
    LLVMMetadataRef parts[] = {
        LLVMMDStringInContext2(b->context, label, sizeof label - 1),
        LLVMValueAsMetadata(LLVMConstInt(b->i32, 1, false)),
        LLVMValueAsMetadata(LLVMConstInt(b->i32, 2000, false)),
    };
    LLVMMetadataRef node = LLVMMDNodeInContext2(b->context, parts, 3);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(b->context, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(b->context, node));
}

void ws_branch_begin(struct ws_builder *b, struct ws_branch *branch, struct ws_value *condition,
                     bool rare, struct ws_value **const *carried, int count)
{
    *branch = (struct ws_branch){.count = count};
    branch->before = LLVMGetInsertBlock(b->llvm);
    LLVMBasicBlockRef then = block(b, "then");
    branch->after = block(b, "join");
    LLVMValueRef jump = LLVMBuildCondBr(b->llvm, ws_llvm(condition), then, branch->after);
    if (rare)
        set_rare(b, jump);
    for (int i = 0; i < count; i++) {
        branch->carried[i] = carried[i];
        branch->initial[i] = *carried[i];
    }
    LLVMPositionBuilderAtEnd(b->llvm, then);
}

void ws_branch_end(struct ws_builder *b, struct ws_branch *branch)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b->llvm);
    LLVMBuildBr(b->llvm, branch->after);
    LLVMPositionBuilderAtEnd(b->llvm, branch->after);
    for (int i = 0; i < branch->count; i++) {
        LLVMValueRef before = ws_llvm(branch->initial[i]);
        LLVMValueRef merged = phi(b, LLVMTypeOf(before));
        add_incoming(merged, before, branch->before);
        add_incoming(merged, ws_llvm(*branch->carried[i]), from);
        *branch->carried[i] = ws_wrap(merged);
    }
}

void ws_return_if(struct ws_builder *b, struct ws_value *condition)
{
    LLVMBasicBlockRef leave = block(b, "leave"), stay = block(b, "stay");
    LLVMBuildCondBr(b->llvm, ws_llvm(condition), leave, stay);
    LLVMPositionBuilderAtEnd(b->llvm, leave);
    LLVMBuildRetVoid(b->llvm);
    LLVMPositionBuilderAtEnd(b->llvm, stay);
}
